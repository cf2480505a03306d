/** Whether the host of an address is this computer, so that what is sent there needs no encryption. @param hostname as in `URL` */
export const isLoopbackName = (hostname: string): boolean => /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/.test(hostname)

/** Whether two addresses are one server: `berth up` listens at `localhost`, 127.0.0.1 and ::1 alike, and at no other address of this computer. */
export function isSameServer(one: string, other: string): boolean {
  const [first, second] = [originOf(one), originOf(other)]
  return first !== undefined && first === second
}

function originOf(address: string): string | undefined {
  const url = URL.parse(address)
  if (url?.hostname === '127.0.0.1' || url?.hostname === '[::1]') url.hostname = 'localhost'
  return url?.origin
}
