/** Proofs that a certificate authority fetches from `/.well-known/acme-challenge/TOKEN`, by token. Public while an order lasts. */
export type Challenges = Map<string, string>
