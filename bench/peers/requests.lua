-- For wrk: posts random lines of a file of request bodies, as bodies.js writes them.
-- wrk -t1 -c64 -d5s -s requests.lua http://127.0.0.1:4000/graphql -- product.txt

local requests = {}

function init(args)
  math.randomseed(1)
  local head = { ["Content-Type"] = "application/json" }
  for body in io.lines(args[1]) do
    requests[#requests + 1] = wrk.format("POST", nil, head, body)
  end
end

function request()
  return requests[math.random(#requests)]
end
