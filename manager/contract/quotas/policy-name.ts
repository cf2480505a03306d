import { TextOf } from '../plain-text.ts'

export const ResourcePolicyName = TextOf(
  64,
  /^(?=.{1,64}$)[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$/,
  'must be letters, digits or inner "-", "_", "."',
)
