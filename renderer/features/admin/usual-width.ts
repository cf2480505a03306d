/** Width in pixels of the last table of administration. The next table is drawn for it, before the browser has told its own width. */
export const usual = { width: globalThis.innerWidth }
