/** The clients of a provider whose addresses name the model: one for each address, kept. */
import { openPost } from './http1/post.ts'
import type { Post } from './reply.ts'

/** Opens the client of an address. It opens no connection. @throws UpstreamFailure */
export type OpenPost = (address: string) => Post

/** Two per model of a large catalogue; beyond it clients are opened anew. */
const MAX_POSTS = 512

export function keepPosts(open: OpenPost = openPost): OpenPost {
  const posts = new Map<string, Post>()
  return (address) => {
    const known = posts.get(address)
    if (known) return known
    if (posts.size >= MAX_POSTS) posts.clear()
    const post = open(address)
    posts.set(address, post)
    return post
  }
}
