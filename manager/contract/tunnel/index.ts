export * from './direct.ts'
export * from './frames.ts'
export * from './protocol.ts'
