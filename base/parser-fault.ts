/** Why Node's parser refuses a request, by the code of its error, for the sender. */
export const parserFault = (code: string | undefined): string =>
  code === 'HPE_INVALID_URL'
    ? 'The address holds characters that have to be percent-encoded (RFC 3986).'
    : 'The request is not valid HTTP.'
