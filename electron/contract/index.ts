/** What the host of the console (Electron, or proxy/web for a browser) does for the page. Pure. */
export * from './host-api.ts'
