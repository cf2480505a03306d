/** A key or a gesture, and what it does. */
export interface KeyHint {
  /** The keys as labelled on keyboards: `Ctrl+Shift+C`. */
  readonly keys: string
  readonly what: string
}
