// The search of the site runs in a worker, and a browser starts no worker from disk. Where the page
// is a file, a hidden frame stands in for it: the same script, the same messages.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      const home = new URL(url, location).href
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      const load = (address) => new Promise((done, failed) => {
        const script = inside.document.createElement("script")
        script.src = new URL(address, home)
        script.onload = done
        script.onerror = failed
        inside.document.head.append(script)
      })
      inside.importScripts = (...addresses) =>
        addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve())
      inside.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }))
      this.inside = inside
      this.ready = load(home)
    }

    postMessage(data) {
      this.ready.then(() =>
        this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })))
    }
  }
  window.Worker = window.IFrameWorker
}
