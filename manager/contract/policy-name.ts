import { z } from 'zod'

export const ResourcePolicyName = z
  .string()
  .regex(/^(?=.{1,64}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/, 'must be letters, digits or inner "-", "_", "."')
