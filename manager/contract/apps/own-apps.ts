import { z } from 'zod'
import { TextUpTo } from '../plain-text.ts'

/** Start page for a browser on another computer. */
export const OpenAppSpec = z.strictObject({
  path: TextUpTo(2_000).startsWith('/').optional().describe("First page, with its query; the app's own if left out."),
})
export type OpenAppSpec = z.infer<typeof OpenAppSpec>

/** Address at which one browser enters a session's app. */
export const OpenedApp = z
  .object({
    url: z.string().describe('Holds a ticket for one visit within a minute.'),
    origin: z.string().describe('Where the app is served.'),
  })
  .meta({ id: 'OpenedApp' })
export type OpenedApp = z.infer<typeof OpenedApp>

/** A ticket in the form that a browser sends. */
export const AppTicket = z.strictObject({
  ticket: TextUpTo(200),
  cookies: z
    .array(TextUpTo(100))
    .max(1_000)
    .default([])
    .describe('Its cookies that may be those of a sign-in at the console, each name=value.'),
  isConfirmed: z.boolean().default(false).describe('The person has seen whose app it is.'),
})
export type AppTicket = z.infer<typeof AppTicket>

/** A person whom a ticket admits; only the console gets this. */
export const AdmittedVisitor = z.object({
  visitor: z.uuid().describe('Id of the sign-in; no credential.'),
  expiresAt: z.iso.datetime(),
})
export type AdmittedVisitor = z.infer<typeof AdmittedVisitor>

export const VisitorOfApp = AdmittedVisitor.pick({ visitor: true }).strict()
export type VisitorOfApp = z.infer<typeof VisitorOfApp>
