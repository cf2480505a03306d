interface Connection {
  readonly saveData: boolean
}

/** Whether the browser's data saver is on: then nothing is loaded that nobody asked for. Only Chromium tells. */
export function savesData(): boolean {
  return (navigator as { readonly connection?: Connection }).connection?.saveData === true
}
