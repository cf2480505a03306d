import { z } from 'zod'
import { DomainName } from './domains.ts'
import { TrimmedText } from '../plain-text.ts'

export const ScimTokenId = z.uuid()

/** A token with which an identity provider writes accounts and projects of one domain by SCIM 2.0. */
export const ScimToken = z
  .object({
    id: ScimTokenId,
    name: z.string(),
    domain: z.string(),
    createdBy: z.string().describe('Address of the person whose rights the token needs.'),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime().nullable(),
  })
  .meta({ id: 'ScimToken' })
export type ScimToken = z.infer<typeof ScimToken>

export const ScimTokenSpec = z
  .strictObject({
    name: TrimmedText(64).min(1).describe('Where the token is used.'),
    domain: DomainName.optional().describe('Default: your own domain.'),
  })
  .meta({ id: 'ScimTokenSpec' })
export type ScimTokenSpec = z.infer<typeof ScimTokenSpec>

export const NewScimToken = ScimToken.extend({ token: z.string().describe('Shown only here.') }).meta({
  id: 'NewScimToken',
})
export type NewScimToken = z.infer<typeof NewScimToken>
