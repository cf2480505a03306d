import { type Doc } from './patch.ts'
import { GROUP_SCHEMA } from './groups.ts'
import { USER_SCHEMA } from './users.ts'

/** Largest number of resources in one answer. */
export const MOST_RESULTS = 200

/** RFC 7643, section 5. */
export const serviceProviderConfig = (base: string): Doc => ({
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MOST_RESULTS },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    { type: 'oauthbearertoken', name: 'Bearer token', description: 'A SCIM token of a domain.', primary: true },
  ],
  meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
})

/** RFC 7643, section 6. */
export const resourceTypes = (base: string): Doc[] =>
  (
    [
      ['User', '/Users', USER_SCHEMA],
      ['Group', '/Groups', GROUP_SCHEMA],
    ] as const
  ).map(([id, endpoint, schema]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    ...{ id, name: id, endpoint, schema },
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${id}` },
  }))

const attribute = (name: string, more: Doc = {}): Doc => ({
  name,
  type: 'string',
  multiValued: false,
  description: name,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...more,
})
const complex = (name: string, subAttributes: readonly Doc[], more: Doc = {}) =>
  attribute(name, { type: 'complex', subAttributes, ...more })

/** RFC 7643, section 7: what Berth keeps. */
export const schemas = (base: string): Doc[] =>
  [
    {
      id: USER_SCHEMA,
      name: 'User',
      attributes: [
        attribute('userName', { required: true, uniqueness: 'server' }),
        attribute('externalId', { caseExact: true }),
        attribute('displayName'),
        complex(
          'name',
          ['formatted', 'familyName', 'givenName', 'middleName'].map(name => attribute(name)),
        ),
        attribute('active', { type: 'boolean' }),
        complex('emails', [attribute('value'), attribute('type'), attribute('primary', { type: 'boolean' })], {
          multiValued: true,
        }),
        complex('groups', [attribute('value'), attribute('display'), attribute('type')], {
          multiValued: true,
          mutability: 'readOnly',
        }),
      ],
    },
    {
      id: GROUP_SCHEMA,
      name: 'Group',
      attributes: [
        attribute('displayName', { required: true, uniqueness: 'server' }),
        attribute('externalId', { caseExact: true }),
        complex('members', [attribute('value'), attribute('display'), attribute('type')], { multiValued: true }),
      ],
    },
  ].map(schema => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    ...schema,
    description: schema.name,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${schema.id}` },
  }))
