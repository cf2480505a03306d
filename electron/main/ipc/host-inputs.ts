import { z } from 'zod'
import { HOST_INPUTS as SHARED, type HostInputs } from '#proxy/contract'
import { ENDPOINT_RULE, EndpointChoiceSchema, isEndpointUrl } from '../settings/settings-file.ts'

/**
 * Schemas of the arguments of each bridge method. The desktop app itself connects to the endpoint, so its address is restricted further.
 */
export const HOST_INPUTS: HostInputs = {
  ...SHARED,
  desktop: { ...SHARED.desktop, openServer: z.tuple([z.string().max(2048).refine(isEndpointUrl, ENDPOINT_RULE)]) },
  host: { ...SHARED.host, setEndpoint: z.tuple([EndpointChoiceSchema]) },
}
