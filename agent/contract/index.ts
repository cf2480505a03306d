/** Messages and formats that manager and agent exchange. Pure. */
export * from './built-in-apps.ts'
export * from './control.ts'
export * from './data.ts'
export * from './image-labels.ts'
export * from './kernel-label.ts'
export * from './managers.ts'
