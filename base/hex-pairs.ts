/** A fingerprint in the form in which certificates show it: `AB:CD:…`. @param hex 64 hexadecimal digits */
export const inPairs = (hex: string) => hex.toUpperCase().replaceAll(/(..)(?=.)/g, '$1:')
