import { z } from 'zod'
import { utf8Length } from '../storage/file-paths.ts'

/** Largest size in bytes of the variables of one request, names and values together, in UTF-8. */
export const MOST_VARIABLE_BYTES = 64 * 1024
/** Largest size in bytes of a start-up command, in UTF-8. */
export const MOST_COMMAND_BYTES = 16 * 1024

type Variables = Readonly<Record<string, string>>

/** Bytes of names and values together, in UTF-8. */
export function variableBytes(variables: Variables): number {
  return Object.entries(variables).reduce((sum, [name, value]) => sum + utf8Length(name) + utf8Length(value), 0)
}

/**
 * Limits the variables of a request. Sessions, templates and defaults store them, and lists read a thousand of these, so the limit of a
 * body (1 MiB) is too large.
 */
export const withVariableLimit = <S extends z.ZodType<Variables>>(schema: S) =>
  schema.refine(variables => variableBytes(variables) <= MOST_VARIABLE_BYTES, {
    error: ({ input }) =>
      `must have at most ${shown(MOST_VARIABLE_BYTES)} bytes (64 KiB), names and values together; these have ${shown(variableBytes(input as Variables))} bytes`,
  })

/** Limits a start-up command. */
export const withCommandLimit = <S extends z.ZodType<string>>(schema: S) =>
  schema.refine(command => utf8Length(command) <= MOST_COMMAND_BYTES, {
    error: ({ input }) =>
      `must have at most ${shown(MOST_COMMAND_BYTES)} bytes (16 KiB); it has ${shown(utf8Length(String(input)))} bytes`,
  })

const shown = (count: number) => count.toLocaleString('en-US')

/** Stored variables, perhaps from a version without the limit: answers show them whatever their size. */
export const StoredVariables = z.record(z.string(), z.string())
