/** A third-party package in Berth: in the page, in the servers, or in both. */
export interface LicensedPackage {
  readonly name: string
  readonly version: string
  /** SPDX expression. */
  readonly license: string
  readonly of: readonly ('page' | 'servers')[]
  /** Index of the package's text in `texts.ts`; null if the package has none. */
  readonly text: number | null
}
