import { z } from 'zod'

/** The fields of an object that cannot hold a secret by their schemas: numbers, true or false, and one of a list of words. */
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
