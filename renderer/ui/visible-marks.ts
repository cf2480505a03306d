/** Marks that change the writing direction (Unicode UAX 9): invisible, and able to show `U+202E gpj.exe.txt` as `txt.exe.jpg`. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g

/**
 * Makes marks that change the writing direction visible in a text that another person chose, such as the name of a file. The build calls it
 * for every text in a template (build/vite-templates.ts); call it where a script sets a text itself.
 * @returns other values unchanged
 */
export function visibleMarks<T>(value: T): T | string {
  return typeof value === 'string' ? value.replace(TURNING, '\ufffd') : value
}
