export * from './frame-decoder.ts'
export * from './frames.ts'
export * from './protocol.ts'
export * from './tunnel-end.ts'
