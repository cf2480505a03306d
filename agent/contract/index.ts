/** What manager and agent exchange. Pure. */
export * from './control.ts'
export * from './data.ts'
export * from './kernel-label.ts'
