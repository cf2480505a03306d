/** The forms of `fetch` that Berth uses. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>

/**
 * `fetch` of Node, which follows no redirect.
 *
 * Threat model: a hostile server may answer each request with the address of another one. This computer reaches services that the server does
 * not: those at its own loopback and in its network. They would get the method and the body of the request, and what they answer would become
 * part of the next request to the server. No server of Berth redirects its programs.
 */
export const directFetch: Fetch = (url, init) => fetch(url, { redirect: 'manual', ...init })
