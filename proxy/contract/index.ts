/** What the local proxy promises to its hosts (Electron, browser, CLI) and to the console. Pure. */
export * from './tunnels.ts'
export * from './local-proof.ts'
export * from './proxy-faults.ts'
export * from './host-api.ts'
