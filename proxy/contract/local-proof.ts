/** Header that a browser which has proven to run on the console's computer sends with every call of `/host/*`. */
export const LOCAL_PROOF_HEADER = 'x-berth-local'
/**
 * `POST` with a JSON array of one code: from a link of `berth up`, or one that `berth local` confirms (`local-command.ts`). The answer is a
 * Reply with the proof; `null` for a wrong code, and until it is confirmed.
 */
export const LOCAL_PROOF_PATH = '/host/local-proof'
