/** Whether the host of an address is this computer, so that what is sent there needs no encryption. @param hostname as in `URL` */
export const isLoopbackName = (hostname: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)
