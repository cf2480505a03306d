/** Width of the last table of administration. The next one is drawn for it, before the browser has told the width of its own. */
export const usual = { width: globalThis.innerWidth }
