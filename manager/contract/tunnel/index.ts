export * from './frames.ts'
export * from './protocol.ts'
