"""Serves one model with llama.cpp's HTTP server from the Python package that Forge fetched.

Prints one JSON line with the address once the model is loaded, and serves until it is ended.
"""

import argparse
import json
import signal
import sys
import threading


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--packages", required=True)
    arguments.add_argument("--model", required=True)
    arguments.add_argument("--port", type=int, required=True)
    arguments.add_argument("--context", type=int, required=True)
    arguments.add_argument("--parallel", type=int, required=True)
    arguments.add_argument("--threads", type=int)
    arguments.add_argument("--cache-type")
    arguments.add_argument("--chat-template-file")
    arguments.add_argument("--max-tokens", type=int)
    options = arguments.parse_args()

    # The default actions end the process at once, also while a model is being loaded; nothing here needs tidying up.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    sys.path.insert(0, options.packages)
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = options.model
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = options.port
    parameters.n_ctx = options.context
    parameters.n_parallel = options.parallel
    parameters.use_jinja = True
    parameters.warmup = False
    parameters.endpoint_slots = True
    if options.threads is not None:
        parameters.cpuparams.n_threads = options.threads
        parameters.cpuparams_batch.n_threads = options.threads
    if options.cache_type is not None:
        cache_type = getattr(xllamacpp.ggml_type, "GGML_TYPE_" + options.cache_type.upper())
        parameters.cache_type_k = cache_type
        parameters.cache_type_v = cache_type
    if options.chat_template_file is not None:
        with open(options.chat_template_file, encoding="utf-8") as file:
            parameters.chat_template = file.read()
    if options.max_tokens is not None:
        parameters.n_predict = options.max_tokens

    server = xllamacpp.Server(parameters)
    print(json.dumps({"address": server.listening_address}), flush=True)
    threading.Event().wait()


main()
