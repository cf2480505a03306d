import { z } from 'zod'
import { AllowedOptions, App, AppProtocol, CleanLine } from '#manager/contract'
import { listOf, recordOf } from './to-first-fault.ts'

/**
 * An app as the agent runs it. `command` may hold `{port}` and `{secret}`; it is empty if the agent need not start the app,
 * because the container opens the port by itself.
 */
export const KernelApp = z.object({
  name: App.shape.name,
  title: CleanLine(200),
  protocol: AppProtocol,
  path: z.string().startsWith('/').max(1_000).default('/'),
  port: z.int().min(1).max(65_535),
  command: listOf(z.string()),
  environ: recordOf(z.string(), z.string()).default({}),
  /** Form in which the app takes its secret, which the proxy adds to requests; `none`: the app has no secret. */
  secret: z.enum(['jupyter', 'none']).default('none'),
  allowedOptions: AllowedOptions.optional(),
})
export type KernelApp = z.infer<typeof KernelApp>
