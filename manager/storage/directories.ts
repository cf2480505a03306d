/** Directories at the top of a storage. `storage-hosts.ts` says what is in each. */
export const FOLDERS = 'folders'
export const REMOVED = 'removed'
export const UPLOADS = 'uploads'
