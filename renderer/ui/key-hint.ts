/** A key or a gesture, and what it does. */
export interface KeyHint {
  /** As it is written on keyboards: `Ctrl+Shift+C`. */
  readonly keys: string
  readonly what: string
}
