import { z } from 'zod'

/** Names of fields that by their schemas cannot hold a secret: numbers, booleans, and choices from a list of words. */
export function plainNamesOf({ shape }: z.ZodObject): ReadonlySet<string> {
  return new Set(Object.keys(shape).filter(name => isPlain(shape[name])))
}

function isPlain(schema: unknown): boolean {
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) {
    return isPlain(schema.unwrap())
  }
  return (
    schema instanceof z.ZodNumber ||
    schema instanceof z.ZodBoolean ||
    schema instanceof z.ZodEnum ||
    schema instanceof z.ZodLiteral
  )
}
