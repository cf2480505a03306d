import { z } from 'zod'
import { AllowedOptions, App, AppProtocol, CleanLine, TextUpTo } from '#manager/contract'
import { LONGEST_NAME, LONGEST_VALUE } from './fields.ts'
import { listOf, recordOf } from './to-first-fault.ts'

/**
 * An app as the agent runs it. `command` may hold `{port}` and `{secret}`; it is empty if the agent need not start the app,
 * because the container opens the port by itself.
 */
export const KernelApp = z.object({
  name: App.shape.name,
  title: CleanLine(200),
  protocol: AppProtocol,
  path: TextUpTo(1_000).startsWith('/').default('/'),
  port: z.int().min(1).max(65_535),
  command: listOf(TextUpTo(LONGEST_VALUE)),
  environ: recordOf(TextUpTo(LONGEST_NAME), TextUpTo(LONGEST_VALUE)).default({}),
  /** Form in which the app takes its secret, which the proxy adds to requests; `none`: the app has no secret. */
  secret: z.enum(['jupyter', 'none']).default('none'),
  allowedOptions: AllowedOptions.optional(),
})
export type KernelApp = z.infer<typeof KernelApp>
