/**
 * Store for the desktop app's token of a manager. Holds a secret: an implementation either protects it with the operating
 * system's means or forgets it with the process. No implementation writes it to a file in the clear.
 */
export interface CredentialStore {
  /**
   * @param endpoint origin of the manager, e.g. `https://berth.example:8400`
   * @param onLate called with a token that arrives after null was returned, because the user has just unlocked the store
   */
  get(endpoint: string, onLate?: (token: string) => void): Promise<string | null>
  set(endpoint: string, token: string): Promise<void>
  delete(endpoint: string): Promise<void>
}

/** Store in memory: signed in until the app quits. */
export function createMemoryCredentials(): CredentialStore {
  const tokens = new Map<string, string>()
  return {
    get: endpoint => Promise.resolve(tokens.get(endpoint) ?? null),
    set: (endpoint, token) => Promise.resolve(void tokens.set(endpoint, token)),
    delete: endpoint => Promise.resolve(void tokens.delete(endpoint)),
  }
}
