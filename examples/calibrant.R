# Calibrant from R: its command measures, and its JSON becomes data frames and a diagram.
#
#     source("calibrant.R")
#     found <- calibrant(data.frame(label = y, p = predicted))
#     found$sentence; found$measures; plot(found)
#
# or in a shell: Rscript calibrant.R rows.csv diagram.png
#
# It needs the package jsonlite and the command `calibrant`. To install the command, run
# `pip install .` in a copy of the repository, in an environment of Python. Where the command is not
# on the path, CALIBRANT names it.

calibrant_json <- function(arguments) {
  command <- Sys.getenv("CALIBRANT", "calibrant")
  said <- tempfile()
  on.exit(unlink(said))
  out <- suppressWarnings(
    system2(command, shQuote(c(arguments, "--json")), stdout = TRUE, stderr = said)
  )
  status <- attr(out, "status")
  # `check` exits with 1 and 2 where a limit is exceeded, or undecided, and has an answer.
  if (!is.null(status) && (length(out) == 0 || status > 2)) {
    stop(paste(readLines(said, warn = FALSE), collapse = "\n"), call. = FALSE)
  }
  jsonlite::fromJSON(paste(out, collapse = "\n"), simplifyVector = FALSE)
}

# Rows as a file that the command reads: a path as it is, a data frame as CSV.
as_file <- function(rows) {
  if (is.character(rows)) return(rows)
  path <- tempfile(fileext = ".csv")
  # All digits of a double, so that R and the command have the same numbers.
  rows[] <- lapply(rows, function(x) if (is.double(x)) sprintf("%.17g", x) else x)
  utils::write.csv(rows, path, row.names = FALSE, na = "")
  path
}

# Options of the command follow: calibrant(rows, "--bins", "10", "--y-true", "died").
calibrant <- function(rows, ...) {
  found <- calibrant_json(c("report", as_file(rows), ...))
  number <- function(x) if (is.null(x)) NA_real_ else as.numeric(x)
  measures <- do.call(rbind, lapply(found$measures, function(m) {
    data.frame(
      name = m$name, value = number(m$value), estimate = number(m$estimate),
      low = number(m$interval$low), high = number(m$interval$high),
      noise_95 = number(m$noise_floor$upper), p_value = number(m$noise_floor$p_value)
    )
  }))
  bins <- as.data.frame(lapply(found$reliability$bins, function(column) {
    vapply(column, number, 0)
  }))
  result <- list(
    sentence = found$verdict$sentence, verdict = found$verdict$verdict, measures = measures,
    bins = bins, notes = unlist(c(found$inferred, found$notes)), json = found
  )
  structure(result, class = "calibrant")
}

# Whether limits hold: calibrant_check(rows, "ece=0.05")$verdict is "pass", "fail" or "undecided".
calibrant_check <- function(rows, max, ...) {
  calibrant_json(c("check", as_file(rows), "--max", max, ...))
}

print.calibrant <- function(x, ...) {
  cat(strwrap(x$sentence), sep = "\n")
  print(x$measures, digits = 4, row.names = FALSE)
  invisible(x)
}

plot.calibrant <- function(x, ...) {
  bins <- x$bins[!is.na(x$bins$mean_target), ]
  plot(
    c(0, 1), c(0, 1), type = "l", lty = 2, col = "grey50", asp = 1,
    xlab = "predicted probability", ylab = "observed frequency", ...
  )
  segments(bins$mean_predicted, bins$low, bins$mean_predicted, bins$high, col = "steelblue")
  points(bins$mean_predicted, bins$mean_target, pch = 19, col = "steelblue")
  invisible(x)
}

if (sys.nframe() == 0L) {
  arguments <- commandArgs(trailingOnly = TRUE)
  found <- calibrant(arguments[1])
  print(found)
  if (length(arguments) > 1) {
    grDevices::png(arguments[2], width = 600, height = 600, type = "cairo")
    plot(found)
    invisible(grDevices::dev.off())
  }
}
