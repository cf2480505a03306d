import { z } from 'zod'
import { MAX_CLUSTER_SIZE, TextUpTo } from '#manager/contract'
import { Ipv4, LONGEST_NAME } from './fields.ts'

/** Whether the address can be that of a host: neither of this host alone, nor of many. */
export const isHostAddress = (text: string) => !/^(0|127|22[4-9]|2[345]\d)\./.test(text)

/**
 * The network between the hosts of one session. The manager chooses it: number, addresses and hosts are the same in the requests for all
 * kernels of the session.
 */
export const ClusterNetwork = z.object({
  /** Number of the network (VNI), which no other session has at the same time. */
  id: z
    .int()
    .min(1)
    .max(2 ** 24 - 1),
  /** Subnet of the kernels, a /28. */
  subnet: TextUpTo(18).check(z.cidrv4()),
  /** The kernels of the session that have not finished, the main one first. */
  kernels: z
    .array(
      z.object({
        role: TextUpTo(LONGEST_NAME).regex(/^(main1|sub[1-9]\d{0,2})$/),
        /** Address of the kernel in the subnet. */
        address: Ipv4(),
        /** Address of its host in the private network between hosts. */
        host: Ipv4().refine(isHostAddress),
      }),
    )
    .min(1)
    .max(MAX_CLUSTER_SIZE),
})
export type ClusterNetwork = z.infer<typeof ClusterNetwork>
