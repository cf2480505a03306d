/** Contract of the local proxy with its hosts (Electron, browser, CLI) and with the console. Pure. */
export * from './tunnels.ts'
export * from './sftp.ts'
export * from './local-proof.ts'
export * from './proxy-faults.ts'
export * from './apps-state.ts'
export * from './desktop.ts'
export * from './host-api.ts'
export * from './host-inputs.ts'
