/** `scimType` of RFC 7644, table 9, as far as we use it. */
type ScimType =
  | 'invalidFilter'
  | 'uniqueness'
  | 'mutability'
  | 'invalidSyntax'
  | 'invalidPath'
  | 'noTarget'
  | 'invalidValue'
  | 'tooMany'

/** An error in the form of RFC 7644, section 3.12. */
export class ScimError extends Error {
  override readonly name = 'ScimError'
  readonly status: number
  readonly scimType: ScimType | undefined

  constructor(status: number, detail: string, scimType?: ScimType) {
    super(detail)
    this.status = status
    this.scimType = scimType
  }

  toJSON() {
    const { status, scimType, message } = this
    return {
      schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'],
      status: String(status),
      ...(scimType === undefined ? {} : { scimType }),
      detail: message,
    }
  }
}

export const tokenEnded = () =>
  new ScimError(401, 'The SCIM token is unknown or has ended. Make one with `berth admin scim-token create`.')
export const invalid = (detail: string) => new ScimError(400, detail, 'invalidValue')
export const notFound = (what: string) => new ScimError(404, `No such ${what} in the domain of the token.`)
