export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'
export const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error'
export const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'

export type ScimDoc = Record<string, unknown> & { id: string; userName?: string; externalId?: string }
export interface ScimReply {
  readonly status: number
  readonly body: ScimDoc & { Resources: ScimDoc[]; totalResults: number; startIndex: number; itemsPerPage: number }
  readonly headers: Headers
}
export type ScimRequest = (method: string, path: string, body?: unknown, bearer?: string) => Promise<ScimReply>

/** Sends requests as clients of SCIM do. */
export const scimClient =
  (url: string, token: string): ScimRequest =>
  async (method, path, body, bearer = token) => {
    const reply = await fetch(`${url}/scim/v2${path}`, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': 'application/scim+json; charset=utf-8',
        accept: 'application/scim+json',
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
    const text = await reply.text()
    const read = (text === '' ? {} : JSON.parse(text)) as ScimReply['body']
    return { status: reply.status, body: read, headers: reply.headers }
  }
