const TOKEN = /^berth_[\w-]{43}$/

/** Whether a text has the form of a secret that the manager makes (256 bits): tokens, halves of a browser's sign-in, codes. */
export const isToken = (text: string): boolean => TOKEN.test(text)
