/** `1 file`, `2 files`, `0 files`; the plural is given where it is not the singular with an s. */
export const counted = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`
