import { z } from 'zod'
import { HOST_INPUTS as SHARED, type HostInputs } from '#proxy/contract'
import { EndpointChoiceSchema } from '../settings/settings-file.ts'

/** Schemas of the arguments of each bridge method. The desktop app connects to its endpoint itself, and so restricts it further. */
export const HOST_INPUTS: HostInputs = {
  ...SHARED,
  host: { ...SHARED.host, setEndpoint: z.tuple([EndpointChoiceSchema]) },
}
