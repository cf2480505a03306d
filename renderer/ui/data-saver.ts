interface Connection {
  readonly saveData: boolean
}

/** Whether the browser's data saver is on: then load only what was requested. Only Chromium reports it. */
export function savesData(): boolean {
  return (navigator as { readonly connection?: Connection }).connection?.saveData === true
}
