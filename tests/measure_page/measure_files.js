// What the script of the page finds in files: SCRIPT CONFIG FILE..., a line of JSON for each file.
const fs = require("fs");
const path = require("path");

const [script, config, ...files] = process.argv.slice(2);
const { calibrant, Fault } = new Function(`${fs.readFileSync(script, "utf8")}\nreturn { calibrant, Fault };`)();
const { measure } = calibrant(JSON.parse(fs.readFileSync(config, "utf8")));
for (const file of files) {
  let found;
  try {
    found = measure(path.basename(file), new Uint8Array(fs.readFileSync(file)));
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    found = { fault: error.message };
  }
  console.log(JSON.stringify(found));
}
