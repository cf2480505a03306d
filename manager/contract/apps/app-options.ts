import { z } from 'zod'
import { TextOf, TextUpTo } from '../plain-text.ts'

/** Name of a variable of the environment. */
export const EnvironmentName = TextOf(128, /^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be letters, digits and underscores')
/** Variables that Berth sets itself; a request that names one is refused. */
export const RESERVED_ENVIRONMENT = /^(BERTH_|LD_PRELOAD$|LD_LIBRARY_PATH$|HOME$|USER$|LOGNAME$|SHELL$)/

/** Name of an argument as the program knows it, such as `--logdir`. */
const ArgumentName = TextUpTo(100).regex(/^[^\s\p{Cc}]+$/u, 'must be one word, such as --logdir')
const Value = TextUpTo(1_000).refine(text => !text.includes('\0'), 'must not contain a zero byte')
const MOST = 32
const atMost = (entries: object) => Object.keys(entries).length <= MOST

/** Arguments and variables that an app accepts at its start; the image declares them. */
export const AllowedOptions = z
  .object({
    arguments: z.array(ArgumentName).max(MOST).default([]),
    environment: z.array(EnvironmentName).max(MOST).default([]),
    /** Arguments with which the app starts unless the user gives others. */
    defaults: z.record(ArgumentName, Value).refine(atMost).default({}),
  })
  .meta({ id: 'AllowedOptions' })
export type AllowedOptions = z.infer<typeof AllowedOptions>

/** Arguments and variables with which a user starts an app. An argument with an empty value is a flag. */
export const AppOptions = z
  .strictObject({
    arguments: z
      .record(ArgumentName, Value)
      .refine(atMost, `must be at most ${MOST}`)
      .default({})
      .describe('By name, such as {"--logdir": "/home/work/logs"}; an empty value makes a flag.'),
    environment: z
      .record(
        EnvironmentName.refine(name => !RESERVED_ENVIRONMENT.test(name), 'is set by Berth itself'),
        Value,
      )
      .refine(atMost, `must be at most ${MOST}`)
      .default({}),
  })
  .meta({ id: 'AppOptions' })
export type AppOptions = z.infer<typeof AppOptions>
