/** Marks that turn the direction of writing (Unicode UAX 9): invisible, and able to show `U+202E gpj.exe.txt` as `txt.exe.jpg`. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Makes marks that turn the direction of writing visible in a text that another person chose, such as the name of a file. The
 * build calls it for every shown text of a template (build/vite-templates.ts); call it where a script sets a text by itself.
 * @returns anything but a text as it is
 */
export function visibleMarks<T>(value: T): T | string {
  return typeof value === 'string' ? value.replace(TURNING, '\ufffd') : value
}
