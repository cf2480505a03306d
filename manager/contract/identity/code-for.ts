import { hmacOf } from '../client/hmac.ts'

/**
 * The code of a sign-in as a program sends it to its server, if the start named the place of that server (`SsoReturn`).
 *
 * Threat model: a hostile server passes the start of a sign-in on to another Berth, and gives its client the provider's address that it
 * got. The person signs in there, the page of the other Berth shows the word that the client shows too, and the code comes to the client. Its
 * server knows the secret, so with the code it would enter the other Berth as that person. So a client sends the code to nobody: what it sends
 * counts at the place of its own server only, and the other Berth answers to its own names only.
 *
 * @param code as the browser brings or shows it
 * @param place host of the server as the program reaches it, with the port unless the scheme has it by default
 */
export const codeFor = (code: string, place: string): Promise<string> => hmacOf(code, `berth sign-in code\n${place}`)
