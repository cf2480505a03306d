/** A person who has access, or an invitation, to somebody else's thing. */
export interface Person<P extends string> {
  readonly key: string
  readonly email: string
  /** Empty while the person has not accepted. */
  readonly name: string
  /** Line below the name, in the current language; empty for none. */
  note(): string
  readonly permission: P
  setPermission(next: P): Promise<unknown>
  remove(): Promise<unknown>
}

/** Texts of `SharingDialog` in the current language. */
export interface SharingWords<P extends string> {
  readonly title: string
  readonly email: string
  readonly emailFault: string
  readonly permission: string
  readonly add: string
  readonly people: string
  readonly loading: string
  readonly nobody: string
  readonly removeMeans?: string
  nameOf(permission: P): string
  /** Description of the rights that this permission gives. */
  meaningOf?(permission: P): string
  permissionOf(email: string): string
  remove(email: string): string
}
