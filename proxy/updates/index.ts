export { type KeySeen } from './keys.ts'
export { type Found, checkForUpdate } from './check-for-update.ts'
export { type UpdateFile, updateSourceOf, type UpdateSource } from './manifest.ts'
export { stageFile } from './stage-file.ts'
