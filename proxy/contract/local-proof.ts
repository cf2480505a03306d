/** Header that a browser which has proven to run on the console's computer sends with every call of `/host/*`. */
export const LOCAL_PROOF_HEADER = 'x-berth-local'
/** `POST` with a JSON array of one code, from the link that `berth up` prints; answers a Reply with the proof, or `null`. */
export const LOCAL_PROOF_PATH = '/host/local-proof'
