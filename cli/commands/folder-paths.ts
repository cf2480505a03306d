/** Path in a folder as the API takes it: without slashes at its ends. */
export const plain = (path: string) => path.replace(/^\/+|\/+$/g, '')

/** Directory of a path in a folder. */
export const parentOf = (path: string) => path.split('/').slice(0, -1).join('/')
